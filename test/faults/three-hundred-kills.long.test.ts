import { randomKills } from './random-kills.js'

randomKills(300, 5_000)
