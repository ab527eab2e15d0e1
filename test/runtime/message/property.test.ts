import { checkBodies } from './property.js'

checkBodies(0.1)
