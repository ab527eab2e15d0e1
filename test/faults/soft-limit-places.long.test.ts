import { softLimitSites } from './soft-limit-places.js'

softLimitSites(1)
softLimitSites(4)
