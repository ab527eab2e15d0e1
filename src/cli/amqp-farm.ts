import type { Farm } from './farm.js'

// Written when src/brokers/amqp has landed.
export const amqpFarm: Farm = undefined as never
