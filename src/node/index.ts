/** `prefork/node`: the supervisor of a pool under any broker. */
export type { Broker, Consumption, ControlClient, NodeControl, WorkAhead } from './broker.js'
export { createNode } from './create-node.js'
export type { FarmNode, NodeOptions, ShutdownReport } from './types.js'
