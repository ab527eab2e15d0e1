/** Bodies of messages: MessagePack that any language reads, or JSON. Never an executable format. */

export { UndecodableError } from '../errors.js'
export type { Compression } from './compression.js'
export { type BodyHeaders, CONTENT_TYPE, decodeJob, type EncodedJob, encodeJob, type JobMessage, SCHEMA_VERSION } from './job.js'
export { decodeReply, encodeReply, type Reply } from './reply.js'
