import { shard } from './run-shard.js'

shard(0)
