/** The sections between the head of a JOB and its arguments. */
import { encode } from '../../wire/codec/index.js'
import { TextRecords } from '../../wire/codec/text-record.js'
import { closeSection, SECTION_HEAD } from '../../wire/frame.js'
import type { JobDelivery, JobMeta } from '../../wire/messages.js'
import type { JobOptions } from './run-options.js'

/** Undefined: the job needs no meta section. */
export const metaSection = ({ id, context, calledAs }: JobOptions): Buffer | undefined => {
  if (context === undefined && calledAs === undefined) return id === undefined ? undefined : closeSection(idAlone.encode(id))
  const meta: JobMeta = {}
  if (id !== undefined) meta.id = id
  if (context !== undefined) meta.context = context
  if (calledAs !== undefined) meta.name = calledAs
  return section(meta, 'options')
}

/** Encodes deliveries; a retry of the last one is not encoded again. */
export class DeliverySections {
  #last: JobDelivery | undefined
  #encoded: Buffer | undefined

  /** The caller must not write to the result. Undefined: the job has no delivery. */
  of({ delivery }: JobOptions): Buffer | undefined {
    if (delivery === undefined) return undefined
    if (delivery === this.#last) return this.#encoded
    const encoded = section(delivery, 'options.delivery')
    if (cannotChange(delivery)) {
      this.#last = delivery
      this.#encoded = encoded
    }
    return encoded
  }
}

/** The caller may pass any object, and change it afterwards. */
const cannotChange = (given: object): boolean =>
  Object.isFrozen(given) && Object.values(Object.getOwnPropertyDescriptors(given)).every(({ value }) => value !== undefined && typeof value !== 'object')

/** `root`: what an error calls the value. */
const section = (value: unknown, root: string): Buffer => {
  const { body, binaries } = encode(value, SECTION_HEAD, { copyBinaries: true, root })
  return closeSection(binaries.length === 0 ? body : Buffer.concat([body, ...binaries]))
}

/** The section of most jobs of a message broker. */
const idAlone = new TextRecords('id', SECTION_HEAD)
