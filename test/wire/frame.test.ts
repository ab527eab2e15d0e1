import { expect, test } from 'vitest'
import * as frame from '../../src/wire/frame.js'

const bytesOf = (size: number, write: (to: Buffer) => void): number[] => {
  const to = Buffer.alloc(size, 0xee)
  write(to)
  return [...to]
}

const u16 = (value: number): number[] => [value & 0xff, value >> 8]
const u32 = (value: number): number[] => [...Buffer.from(Uint32Array.of(value).buffer)]
const f64 = (value: number): number[] => [...Buffer.from(Float64Array.of(value).buffer)]

// The bytes of the protocol, coded a second time: two builds of one version must agree on them.

test('the head of a frame: length, kind, flags, attempt, delivery, job', () => {
  const bytes = bytesOf(22, (to) => frame.writeHead(to, 2, 1_000_000, 20, 9, 513, 70_000, 2 ** 40))
  expect(bytes).toEqual([0xee, 0xee, ...u32(1_000_000), 20, 9, ...u16(513), ...u32(70_000), ...f64(2 ** 40)])
  const read = Buffer.from(bytes)
  const body = 2 + frame.LENGTH_BYTES
  expect(frame.bodyBytesAt(read, 2)).toBe(1_000_000)
  expect(frame.kindOf(read, body)).toBe(20)
  expect(frame.flagsOf(read, body)).toBe(9)
  expect(frame.attemptOf(read, body)).toBe(513)
  expect(frame.deliveryOf(read, body)).toBe(70_000)
  expect(frame.jobOf(read, body)).toBe(2 ** 40)
  expect([frame.LENGTH_BYTES, frame.FIXED_BYTES, frame.FRAME_HEAD]).toEqual([4, 16, 20])
})

test('an attempt beyond 16 bits keeps its low bits', () => {
  expect(bytesOf(20, (to) => frame.writeHead(to, 0, 16, 1, 0, 65_537, 0, 0)).slice(6, 8)).toEqual([1, 0])
})

test('the fixed part of a JOB: task, two zeroes, soft limit, hard limit', () => {
  const bytes = bytesOf(12, (to) => frame.writeJobFixed(to, 0, 513, 70_000, 4_000_000_000))
  expect(bytes).toEqual([...u16(513), 0, 0, ...u32(70_000), ...u32(4_000_000_000)])
  const read = Buffer.from(bytes)
  expect([frame.taskIndexOf(read, 0), frame.softLimitOf(read, 0), frame.hardLimitOf(read, 0)]).toEqual([513, 70_000, 4_000_000_000])
  expect([frame.JOB_FIXED_BYTES, frame.JOB_HEAD]).toEqual([28, 32])
})

test('a section: the length of its content, then the content', () => {
  const section = frame.closeSection(Buffer.from([...u32(0), 7, 8, 9]))
  expect([...section]).toEqual([...u32(3), 7, 8, 9])
  expect(frame.sectionEnd(Buffer.concat([Buffer.alloc(5), section, Buffer.alloc(5)]), 5)).toBe(12)
})

test('the statistics of a READY: jobs done, resident bytes', () => {
  const bytes = bytesOf(frame.STATS_BYTES, (to) => frame.writeStats(to, 0, 2 ** 32 + 5, 1.5e9))
  expect(bytes).toEqual([...u32(5), ...f64(1.5e9)])
  expect(frame.statsRssOf(Buffer.from(bytes), 0)).toBe(1.5e9)
})

test('the credit of a PULL: items, bytes', () => {
  const bytes = bytesOf(frame.PULL_BYTES, (to) => frame.writeCredit(to, 0, 16, 70_000))
  expect(bytes).toEqual([...u32(16), ...u32(70_000)])
  expect([frame.creditItemsOf(Buffer.from(bytes), 0), frame.creditBytesOf(Buffer.from(bytes), 0)]).toEqual([16, 70_000])
})

test('the heads of CALL and REPLY: number of the call, bytes of the name; number of the call', () => {
  const call = bytesOf(frame.CALL_HEAD, (to) => frame.writeCallHead(to, 0, 70_000, 513))
  expect(call).toEqual([...u32(70_000), ...u16(513)])
  expect([frame.callNumberOf(Buffer.from(call), 0), frame.callNameBytesOf(Buffer.from(call), 0)]).toEqual([70_000, 513])
  const reply = bytesOf(frame.REPLY_HEAD, (to) => frame.writeReplyHead(to, 0, 80_000))
  expect(reply).toEqual(u32(80_000))
  expect(frame.callNumberOf(Buffer.from(reply), 0)).toBe(80_000)
  expect(frame.MAX_NAME_BYTES).toBe(2 ** 16 - 1)
})

test('the numbers of CANCEL and SOFT_LIMIT_REQUEST', () => {
  const fixed = bytesOf(frame.CANCEL_HEAD, (to) => frame.writeCancelFixed(to, 0, 70_000, 2_000_000_000))
  expect(fixed).toEqual([...u32(70_000), ...u32(2_000_000_000)])
  expect([frame.cancelUpToOf(Buffer.from(fixed), 0), frame.interruptForOf(Buffer.from(fixed), 0)]).toEqual([70_000, 2_000_000_000])
  const limit = bytesOf(frame.SOFT_LIMIT_REQUEST_BYTES, (to) => frame.writeRequestedLimit(to, 0, 80_000))
  expect(limit).toEqual(u32(80_000))
  expect(frame.requestedLimitOf(Buffer.from(limit), 0)).toBe(80_000)
})

test('a HEARTBEAT: resident bytes, age of the last turn, CPU time, oldest delivery', () => {
  const bytes = bytesOf(frame.HEARTBEAT_BYTES, (to) => frame.writeHeartbeat(to, 0, 1.5e9, 20.5, 812.25, 70_000))
  expect(bytes).toEqual([...f64(1.5e9), ...f64(20.5), ...f64(812.25), ...u32(70_000)])
  const read = Buffer.from(bytes)
  expect([frame.heartbeatRssOf(read, 0), frame.heartbeatTurnAgeOf(read, 0), frame.heartbeatCpuOf(read, 0)]).toEqual([1.5e9, 20.5, 812.25])
})
