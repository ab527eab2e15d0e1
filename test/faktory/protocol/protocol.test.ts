import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { addressOf, faktoryUrl } from '../../../src/faktory/protocol/address.js'
import { PasswordHashes } from '../../../src/faktory/protocol/password-hash.js'

describe('the address', () => {
  const of = (url: string) => addressOf(url, {})
  it.each([
    ['tcp://localhost:7419', { host: 'localhost', port: 7419, tls: false, password: undefined, shown: 'tcp://localhost:7419' }],
    ['tcp://:secret@h.example', { host: 'h.example', port: 7419, password: 'secret', shown: 'tcp://:***@h.example:7419' }],
    ['tcp+tls://:s@h:1234', { host: 'h', port: 1234, tls: true, shown: 'tcp+tls://:***@h:1234' }],
    ['tcp://[::1]:7420', { host: '::1', port: 7420, shown: 'tcp://[::1]:7420' }],
    ['tcp://:p%40s%3Ds%2Fw%25@h', { password: 'p@s=s/w%' }],
    ['tcp://:p=w@x@h', { password: 'p=w@x' }],
    ['tcp://:p%C3%A9%F0%9F%98%80@h', { password: 'pé😀' }],
    ['tcp://:pé😀@h', { password: 'pé😀' }],
    ['tcp://me:x@h/', { username: 'me', password: 'x' }],
  ])('reads %s', (url, want) => {
    expect(of(url)).toMatchObject(want)
  })

  it.each([
    ['redis://topsecret@h', /must be a URL of the form/],
    ['h:7419', /must be a URL of the form/],
    ['tcp://', /must be a URL of the form/],
    ['tcp://:topsecret@', /must be a URL of the form/],
    ['tcp://:topsecret@h:99999', /must be a URL of the form/],
    ['tcp://:topsecret@h:0', /a port from 1 to 65535/],
    ['tcp://:topsecret100%@h', /%25/],
    ['tcp://:topsecret%E9@h', /percent-encoded UTF-8/],
    ['tcp://:topsecret/x@h', /'\/', '\?' or '#' in the password is written as %2F, %3F, %23/],
    ['tcp://:topsecret?x@h:7419', /in the password is written as/],
    ['tcp://me:topsecret#x@h', /in the password is written as/],
    ['tcp://:topsecret@h/db', /nothing behind the port/],
    ['tcp://:topsecret@h?x=1', /nothing behind the port/],
  ])('refuses %s without showing it', (url, reason) => {
    const refusal = (() => {
      try {
        of(url)
      } catch (error) {
        return error as Error
      }
      return undefined
    })()
    expect(refusal).toBeInstanceOf(TypeError)
    expect(refusal!.message).toMatch(reason)
    expect(refusal!.message).not.toContain('topsecret')
    expect(() => faktoryUrl('url', url)).toThrow(TypeError)
  })

  it('comes from the option, FAKTORY_PROVIDER, FAKTORY_URL, or is the default', () => {
    const env = { FAKTORY_URL: 'tcp://of-url:1', MY_URL: 'tcp://of-provider:2' }
    expect(addressOf('tcp://of-option:3', { ...env, FAKTORY_PROVIDER: 'MY_URL' }).host).toBe('of-option')
    expect(addressOf(undefined, { ...env, FAKTORY_PROVIDER: 'MY_URL' }).host).toBe('of-provider')
    expect(addressOf(undefined, env).host).toBe('of-url')
    expect(addressOf(undefined, {}).shown).toBe('tcp://localhost:7419')
    expect(addressOf(undefined, { FAKTORY_URL: '', FAKTORY_PROVIDER: '' }).shown).toBe('tcp://localhost:7419')
  })

  it('explains a FAKTORY_PROVIDER that holds a URL, or names nothing', () => {
    const env = { FAKTORY_URL: 'tcp://of-url:1' }
    expect(() => addressOf(undefined, { ...env, FAKTORY_PROVIDER: 'tcp://:topsecret@h:7419' })).toThrow(
      /^Option 'FAKTORY_PROVIDER' must be the name of the variable/,
    )
    expect(() => addressOf(undefined, { ...env, FAKTORY_PROVIDER: 'NOT_SET' })).toThrow(/names the variable 'NOT_SET', which is not set/)
    expect(() => addressOf(undefined, { FAKTORY_PROVIDER: 'MINE', MINE: 'nonsense' })).toThrow(/^Option 'MINE'/)
  })
})

describe('PasswordHashes', () => {
  const expected = (password: string, salt: string, rounds: number): string => {
    let bytes = createHash('sha256').update(password).update(salt).digest()
    for (let round = 1; round < rounds; round++) bytes = createHash('sha256').update(bytes).digest()
    return bytes.toString('hex')
  }

  it('hashes password and salt, then the raw bytes', async () => {
    // SHA-256 of 'secretabcd'.
    expect(await new PasswordHashes('secret').of('abcd', 1)).toBe(expected('secret', 'abcd', 1))
    expect(await new PasswordHashes('secret').of('abcd', 2)).toBe(expected('secret', 'abcd', 2))
    expect(await new PasswordHashes('pässwörd😀').of('4e1d7f1ed827a5b1', 8_095)).toBe(expected('pässwörd😀', '4e1d7f1ed827a5b1', 8_095))
  })

  it('keeps the hash of a salt', () => {
    const hashes = new PasswordHashes('secret')
    expect(hashes.of('abcd', 5_000)).toBe(hashes.of('abcd', 5_000))
    expect(hashes.of('abcd', 5_000)).not.toBe(hashes.of('abce', 5_000))
  })

  it('takes few turns, so that it is there within the 2 s of HELLO on a host whose turns are long', async () => {
    // A look at the clock follows 100 rounds, which take a quarter of a millisecond.
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 0.25
      return now
    })
    onTestFinished(() => clock.mockRestore())
    let turns = 0
    let next = setImmediate(function turn() {
      turns++
      next = setImmediate(turn)
    })
    await new PasswordHashes('secret').of('abcd', 8_095)
    clearImmediate(next)
    expect(now).toBeGreaterThan(20)
    expect(turns).toBeGreaterThan(0)
    expect(turns).toBeLessThanOrEqual(3)
  })

  it('lets the event loop turn', async () => {
    let turns = 0
    const count = setInterval(() => turns++, 0)
    try {
      await new PasswordHashes('secret').of('abcd', 50_000)
    } finally {
      clearInterval(count)
    }
    expect(turns).toBeGreaterThan(3)
  })
})
