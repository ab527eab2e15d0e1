import type { PublishOptions } from '../connection/client.js'

/** A message on its way to an exchange. */
export interface Publication {
  readonly exchange: string
  readonly key: string
  readonly body: Buffer
  readonly options: PublishOptions
  /** Sent again when the connection is cut before the broker has confirmed it: it may then be stored twice, with the same message id. */
  readonly resend: boolean
  /** ms that it may take, waiting for a connection included; undefined for as long as it takes. */
  readonly timeout?: number | undefined
  /** Called each time that it has been written. */
  readonly written?: (() => void) | undefined
}

/** One that nobody has confirmed yet. */
export interface Outstanding {
  readonly publication: Publication
  readonly deadline: number
  /** Times that it was written. */
  sent: number
  /** Why it goes out again. */
  cut?: Error
  returned: boolean
  settled: boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** What a returned message is recognised by: AMQP returns it with its content and properties, and without a number. */
export const returnKey = (exchange: string, key: string, messageId: string | undefined): string => `${exchange}\0${key}\0${messageId ?? ''}`
