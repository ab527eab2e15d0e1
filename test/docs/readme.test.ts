import { testPage } from './run-page.js'

testPage('README.md')
