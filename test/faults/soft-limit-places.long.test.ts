import { softLimitPlaces } from './soft-limit-places.js'

softLimitPlaces(4)
