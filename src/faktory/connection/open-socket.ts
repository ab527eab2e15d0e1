import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { BrokerError, isClientRefused, isUntrusted, reasonOf } from '../../node/connection/errors.js'
import type { TlsSettings } from '../../node/connection/tls-options.js'
import { ConnectionLostError } from '../errors.js'
import type { FaktoryAddress } from '../protocol/address.js'

/** How to reach the server. Validated. */
export interface Endpoint {
  readonly address: FaktoryAddress
  /** For `tcp+tls:` only. Undefined: Node's defaults. */
  readonly tls?: TlsSettings | undefined
}

/** ms until the first keepalive probe of a connection on which nothing is sent. */
const KEEP_ALIVE = 15_000

/** Starts to connect. A worker's commands are short lines that wait for nothing: Nagle's algorithm is off. */
export const openSocket = (endpoint: Endpoint): Socket => {
  const socket = connecting(endpoint)
  // Not by the options of `connect`: those of TLS are not passed on before Node.js 24, and a socket that is not connected forgets the delay.
  socket.once('connect', () => socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE))
  return socket
}

const connecting = ({ address: { host, port, tls: encrypted, rejectUnauthorized = true }, tls }: Endpoint): Socket => {
  if (!encrypted) return connectTcp({ host, port })
  // A name for SNI; an address is none.
  const servername = isIP(host) === 0 ? { servername: host } : undefined
  return connectTls({ host, port, minVersion: 'TLSv1.2', rejectUnauthorized, ...servername, ...tls })
}

/** The error of a connection that could not be made. A BrokerError is permanent: a further attempt fails as well. */
export const connectError = ({ shown }: FaktoryAddress, cause: Error): BrokerError | ConnectionLostError => {
  const code = String((cause as { code?: unknown }).code)
  if (isUntrusted(cause))
    return new BrokerError(
      `Faktory at ${shown} shows a certificate that is not trusted: ${reasonOf(cause)}. Name the authority that it comes from (the option tls.ca, or FAKTORY_TLS_CA), or the name that it has (the option tls.servername, or FAKTORY_TLS_SERVERNAME).`,
      { cause },
    )
  if (isClientRefused(cause))
    return new BrokerError(
      `Faktory at ${shown} refused the certificate of this client, or wants one: ${reasonOf(cause)}. Give it one that it trusts (the options tls.cert and tls.key, or FAKTORY_TLS_CERT and FAKTORY_TLS_KEY).`,
      { cause },
    )
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return new BrokerError(`Faktory at ${shown} answers without TLS: its URL begins with tcp://, or there is a TLS proxy on another port.`, { cause })
  return new ConnectionLostError(`Faktory at ${shown} cannot be reached: ${reasonOf(cause)}.`, false, { cause })
}

/** A server with TLS waits for the client to speak first, and closes after its handshake timeout. */
export const notGreeted = ({ shown, tls }: FaktoryAddress, what: string): ConnectionLostError =>
  new ConnectionLostError(
    tls ? `Faktory at ${shown} ${what}.` : `Faktory at ${shown} ${what}: it is no Faktory server, or one that speaks TLS, whose URL begins with tcp+tls://.`,
    false,
  )
