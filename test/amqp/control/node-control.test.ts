/** What a node asks the others, and what they answer. */
import { afterEach, expect, it } from 'vitest'
import { within } from '../../fixtures/support.js'
import { isolatedTopology, type Overrides, RABBITMQ_URL, until, withRabbit } from '../rabbit.js'
import { tcpProxy } from '../tcp-proxy.js'

/** ms, longer than any test: a request that is over has had its answers. */
const NEVER = 600_000

withRabbit('a node that asks the others', () => {
  const { broker } = isolatedTopology()
  const open: { close(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()))
  })

  const node = async (name: string, overrides: Overrides = {}, answer: unknown = { of: name }) => {
    const made = await broker({ node: name, ...overrides })
    open.push(made)
    const { control } = made
    const warnings: string[] = []
    made.on('warning', (message) => warnings.push(message))
    await until('it listens', () => control.listening)
    const asked: unknown[] = []
    const answers: unknown[] = []
    control.onCommand(async (command) => {
      asked.push(command)
      if (answer instanceof Error) throw answer
      return answer
    })
    /** Resolves when it answers others. */
    const ask = (timeout = NEVER): Promise<void> =>
      within(
        control.askNodes({ command: 'revocations', node: name }, (each) => answers.push(each), timeout),
        30_000,
      )
    return { made, control, asked, answers, warnings, ask }
  }

  it('waits for no answer where no node gives one', async () => {
    const silent = await node('silent')
    const first = await node('a')
    await first.ask()
    expect([first.answers, silent.asked, first.asked]).toEqual([[], [], []])
  })

  it('gets the answer of each that has asked before it, but for those that refuse', async () => {
    const [first, second, refusing] = [await node('a'), await node('b'), await node('c', {}, new TypeError('no such command'))]
    for (const each of [first, second, refusing]) await each.ask()
    const last = await node('d')
    await last.ask()
    await until('both have answered', () => last.answers.length === 2)
    expect(last.answers.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual([{ of: 'a' }, { of: 'b' }])
    expect(refusing.asked.at(-1)).toEqual({ command: 'revocations', node: 'd' })
  })

  it('goes on after the timeout, and gets an answer that comes later', async () => {
    let answer: ((value: unknown) => void) | undefined
    const slow = await node('slow')
    await slow.ask()
    slow.control.onCommand(
      () =>
        new Promise((resolve) => {
          answer = resolve
        }),
    )
    const other = await node('other')
    await other.ask(1)
    const asked = await until('the other is asked', () => answer)
    expect(other.answers).toEqual([])
    asked('late')
    await until('it has come', () => other.answers.length === 1)
    expect(other.answers).toEqual(['late'])
  })

  it('asks again when it was disconnected', async () => {
    const first = await node('a')
    await first.ask()
    const proxy = await tcpProxy(RABBITMQ_URL)
    try {
      const second = await node('b', { url: proxy.url })
      await second.ask()
      expect(second.answers).toHaveLength(1)
      proxy.cut()
      await until('it has had another answer', () => second.answers.length > 1)
      // It answers others again, too.
      const third = await node('c')
      await third.ask()
      await until('both have answered', () => third.answers.length === 2)
    } finally {
      await proxy.close()
    }
  })

  it('that is closed meanwhile waits no longer', async () => {
    const mute = await node('mute')
    await mute.ask()
    mute.control.onCommand(() => new Promise(() => {}))
    const other = await node('other')
    const asking = other.ask()
    await other.made.close()
    await asking
    expect(other.answers).toEqual([])
  })

  it('with a secret takes only answers that are signed with it, for its own request', async () => {
    const secret = 'correct horse'
    const [same, without] = [await node('same', { secret }), await node('without')]
    for (const each of [same, without]) await each.ask()
    const asking = await node('asking', { secret })
    await asking.ask()
    await until('both have answered', () => asking.answers.length === 1 && asking.warnings.length === 1)
    expect([asking.answers, asking.warnings]).toEqual([
      [{ of: 'same' }],
      ["An answer of the node 'without' was refused: it is not signed with the shared secret."],
    ])
    // It refuses to answer one that has no secret.
    const stranger = await node('stranger')
    await stranger.ask()
    await until('the other has answered', () => stranger.answers.length === 1)
    expect(stranger.answers).toEqual([{ of: 'without' }])
  })
})
