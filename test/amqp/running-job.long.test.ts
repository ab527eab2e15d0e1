import { afterAll, beforeAll } from 'vitest'
import { RABBITMQ_URL, withRabbit } from './rabbit.js'
import { jobGoesOn, watchChannels } from './running-job.js'
import { type TcpProxy, tcpProxy } from './tcp-proxy.js'

withRabbit('a consumer is restored', () => {
  let proxy: TcpProxy
  beforeAll(async () => {
    await watchChannels()
    proxy = await tcpProxy(RABBITMQ_URL)
  })
  afterAll(() => proxy.close())

  jobGoesOn(['classic'], () => proxy)
})
