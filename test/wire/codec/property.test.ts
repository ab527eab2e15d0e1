import { compareWithStructuredClone } from './property.js'

compareWithStructuredClone(0.1)
