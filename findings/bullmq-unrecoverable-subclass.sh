#!/usr/bin/env bash
# BullMQ 6.7.0: a class that extends UnrecoverableError ends a job at its first attempt where the processor is a function, and is an ordinary failure, tried
# again, where the processor is a file (sandbox). The error crosses the process as name, message and stack; its class is lost, and the name is the subclass's.
# Seen with Redis 7.0:
#   function: 1 attempt(s)
#   file: 3 attempt(s)
#   file, the name set to UnrecoverableError: 1 attempt(s)
# Needs a Redis at REDIS_URL (default redis://127.0.0.1:6379). It uses a prefix of its own and removes its keys.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true, "type": "module" }' >package.json
npm install --no-audit --no-fund --loglevel=error bullmq@6.7.0 ioredis@6.0.0

cat >processor.mjs <<'JS'
import { UnrecoverableError } from 'bullmq'
class NoSuchCustomer extends UnrecoverableError {
  constructor(message) {
    super(message)
    this.name = 'NoSuchCustomer'
  }
}
export default async (job) => {
  const error = new NoSuchCustomer('there is none')
  if (job.data.named) error.name = 'UnrecoverableError'
  throw error
}
JS

cat >run.mjs <<'JS'
import { Queue, QueueEvents, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { pathToFileURL } from 'node:url'
import processor from './processor.mjs'

const url = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379'
const connection = new Redis(url, { maxRetriesPerRequest: null })
const prefix = `finding-${process.pid}`
const attempts = async (name, processed, data) => {
  const queue = new Queue(name, { connection, prefix })
  const worker = new Worker(name, processed, { connection, prefix })
  worker.on('error', () => {})
  const job = await queue.add('task', data, { attempts: 3 })
  while ((await job.getState()) !== 'failed') await new Promise((resolve) => setTimeout(resolve, 20))
  const { attemptsMade } = await queue.getJob(job.id)
  await worker.close()
  await queue.obliterate({ force: true })
  await queue.close()
  return attemptsMade
}
const file = pathToFileURL(new URL('./processor.mjs', import.meta.url).pathname)
console.log(`function: ${await attempts('inline', processor, {})} attempt(s)`)
console.log(`file: ${await attempts('sandbox', file, {})} attempt(s)`)
console.log(`file, the name set to UnrecoverableError: ${await attempts('named', file, { named: true })} attempt(s)`)
await connection.quit()
JS

node run.mjs | tee seen.txt
diff seen.txt - <<'SEEN'
function: 1 attempt(s)
file: 3 attempt(s)
file, the name set to UnrecoverableError: 1 attempt(s)
SEEN
