import { softLimitSites } from './soft-limit-places.js'

softLimitSites(4)
