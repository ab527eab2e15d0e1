// A loop of FETCH and ACK on each connection, and nothing else.
import { BareClient } from '../client.js'

/** @import { Load, Running } from '../types.js' */

/** @param {Load} load @returns {Promise<Running>} */
export const startBare = async ({ url, queue, connections }) => {
  const clients = await Promise.all(Array.from({ length: connections }, () => BareClient.connect(url)))
  let stopped = false
  const loops = clients.map(async (client) => {
    while (!stopped) {
      const job = await client.ask(`FETCH ${queue}`)
      if (job !== undefined) await client.ask(`ACK ${JSON.stringify({ jid: JSON.parse(job).jid })}`)
    }
  })
  return {
    stop: async () => {
      stopped = true
      await Promise.all(loops)
      for (const client of clients) client.close()
    },
  }
}
