/** What goes wrong in a run. */
import type { Random } from '../../simulation/random.js'
import { type CommitFault, FileProcess, LEASE } from './file-process.js'
import type { Host } from './host.js'
import type { Machine, SimProcess } from './process.js'

export const HOUR = 3_600_000
/** So many seconds' corrections of the wall clock, in a row, look like a lease that is over. Each is too small to be taken for a jump, ms. */
const CORRECTION = 1_900

export class Faults {
  readonly #machine: Machine

  constructor(machine: Machine) {
    this.#machine = machine
  }

  /** Returns how long nobody is to ask for anything, ms: another command might end the fault too early. Undefined: as long as usual. */
  happen(random: Random, process: SimProcess, hosts: readonly Host[]): number | undefined {
    const roll = random.below(100)
    if (roll < 14) process.kill()
    else if (roll < 22) hosts.find((host) => host.process === process)!.close()
    else if (roll < 44) return this.#stop(random, process)
    else if (process instanceof FileProcess && roll >= 52 && roll < 58) {
      return this.#lateSweep(
        process,
        hosts.map((host) => host.process),
      )
    } else if (process instanceof FileProcess) this.#diskFault(random, process, roll)
    return undefined
  }

  #stop(random: Random, process: SimProcess): number | undefined {
    // What it asks for in this moment reaches its store when it continues.
    process.events.work()
    process.stop()
    const ms = random.pick([10, 500, LEASE / 2, LEASE + 1_500, LEASE + 3_000, 2 * LEASE])
    this.#machine.world.schedule(ms, () => process.continue())
    // Others are to take it for dead.
    return ms > LEASE && random.chance(0.5) ? ms + 1_000 : undefined
  }

  /** A process is stopped until another has found that it stands still, and beats before that one can act. */
  #lateSweep(victim: FileProcess, processes: readonly SimProcess[]): number | undefined {
    const others = processes.filter((each) => each !== victim)
    if (others.length === 0) return undefined
    victim.stop()
    this.#machine.world.schedule(LEASE + 4_000, () => victim.continue())
    const fault: CommitFault = { kind: 'late sweep', victim, isOver: false }
    for (const each of others) {
      each.continue()
      if (each instanceof FileProcess) each.commitFault = fault
    }
    return LEASE + 3_000
  }

  #diskFault(random: Random, process: FileProcess, roll: number): void {
    const machine = this.#machine
    const { world, checker } = machine
    const faults: readonly CommitFault[] = [
      { kind: 'kill before' },
      { kind: 'kill after' },
      { kind: 'kill after' },
      { kind: 'slow', ms: random.pick([5, 100, 2_000]) },
      { kind: 'stop', ms: random.pick([100, LEASE + 1_000]) },
    ]
    if (roll < 52) process.commitFault = random.pick(faults)
    else if (roll < 69) process.statementsLeft = random.below(40)
    else if (roll < 78) {
      process.silent = true
      world.schedule(4_000, () => {
        process.silent = false
      })
    } else if (roll < 85) {
      machine.lockedUntil = world.now + random.pick([20, 1_500, 7_000, 2 * LEASE])
      checker.quietUntil = Math.max(checker.quietUntil, machine.lockedUntil + 2_000)
      world.trace(`the file is locked until ${machine.lockedUntil}`)
    } else if (roll < 92) {
      machine.fullUntil = world.now + random.pick([50, 800, 4_000])
      checker.quietUntil = Math.max(checker.quietUntil, machine.fullUntil + 2_000)
      world.trace(`the disk is full until ${machine.fullUntil}`)
    } else if (roll < 96) this.setClock(random.pick([-HOUR, -20_000, 20_000, HOUR]))
    else for (let second = 0; second < 6; second++) world.schedule(second * 1_000, () => this.setClock(CORRECTION))
  }

  setClock(by: number): void {
    const machine = this.#machine
    machine.wallOffset += by
    if (by === CORRECTION) machine.checker.corrected += by
    machine.world.trace(`the wall clock is off by ${machine.wallOffset}`)
  }
}
