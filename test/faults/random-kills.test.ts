import { randomKills } from './random-kills.js'

randomKills(30, 500)
