import { isolation } from './isolation.js'

isolation('classic')
