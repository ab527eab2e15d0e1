/** `prefork/node`: the supervisor of a pool under any broker, and control of its nodes for a broker that has no exchange. */
export type { Address, Answer, Command } from '../runtime/report/commands.js'
export type { FarmEvent } from '../runtime/report/report.js'
export type { Broker, Consumption, ControlClient, NodeControl, WorkAhead } from './broker.js'
export { ControlSocket } from './control/control-socket.js'
export { SocketControlClient } from './control/socket-client.js'
export { ControlError } from './control/socket-connection.js'
export { createNode } from './create-node.js'
export type { FarmNode, NodeOptions, ShutdownOptions, ShutdownReport } from './types.js'
