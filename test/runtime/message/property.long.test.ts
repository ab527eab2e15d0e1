import { checkBodies } from './property.js'

checkBodies(1)
