import type { PublishOptions } from '../connection/client.js'

/** A message on its way to an exchange. */
export interface Publication {
  readonly exchange: string
  readonly key: string
  readonly body: Buffer
  readonly options: PublishOptions
  /** Publish it again when the connection is lost before the confirm: it may then be stored twice, with the same message id. */
  readonly resend: boolean
  /** ms until it must be confirmed, a wait for a connection included; undefined: no limit. */
  readonly timeout?: number | undefined
  /** Called each time that it is written. */
  readonly written?: (() => void) | undefined
}

/** A publication that the broker has not confirmed yet. */
export interface OutstandingPublication {
  readonly publication: Publication
  readonly deadline: number
  /** Times that it was written. */
  sent: number
  /** The close of the channel for which it is published again. */
  lostBy?: Error
  returned: boolean
  settled: boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Identifies a returned message: `basic.return` has content and properties, but no delivery tag. */
export const returnKey = (exchange: string, key: string, messageId: string | undefined): string => `${exchange}\0${key}\0${messageId ?? ''}`
