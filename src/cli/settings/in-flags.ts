/** What the library says of its options, and what stands for it here. */
const WORDS: readonly (readonly [said: string, typed: string])[] = [
  ['the queueType and priorityLevels', 'the --queue-type and --priority-levels'],
  [', take it as it is with declare: false, or delete it', ', or delete it'],
  [', or use declare: false', ''],
  ['the option tls.ca, or RABBITMQ_TLS_CA', 'RABBITMQ_TLS_CA'],
  ['the option tls.servername, or RABBITMQ_TLS_SERVERNAME', 'RABBITMQ_TLS_SERVERNAME'],
  ['the options tls.cert and tls.key, or RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY', 'RABBITMQ_TLS_CERT and RABBITMQ_TLS_KEY'],
]

/** An error of the library's in the words of the command line: its flags and variables, where it names options. */
export const inFlags = (message: string): string => WORDS.reduce((text, [said, typed]) => text.replace(said, () => typed), message)
