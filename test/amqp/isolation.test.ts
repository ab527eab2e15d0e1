import { isolation } from './isolation.js'

isolation('quorum')
