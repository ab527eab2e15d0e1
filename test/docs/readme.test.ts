import { playPage } from './play.js'

playPage('README.md')
