import { compareWithStructuredClone } from './property.js'

compareWithStructuredClone(1)
