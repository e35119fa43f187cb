/** The clock of the embedded server: when it is trusted, and when not. */
import { describe, expect, it } from '@jest/globals'
import { CheckedClock } from '../../../lambdas/adapters/in-process/checked-clock.ts'
import { DAY, MINUTE, SetClock, YEAR } from '../../fixtures/set-clock.ts'

const NOW = '2026-06-01T12:00:00.000Z'
const HOUR = 60 * MINUTE

function clockAt(iso = NOW, newest = 0) {
  const machine = new SetClock(iso)
  const told: string[] = []
  const clock = new CheckedClock((line) => told.push(line), machine)
  clock.compareWith(newest)
  const said = () => new Date(clock.now()).toISOString()
  return { machine, clock, told, said, may: () => [clock.mayStamp(), clock.maySweep()] }
}

describe('A running clock', () => {
  it('is trusted for any time, also when it is corrected by minutes', () => {
    const { machine, may, told, said } = clockAt()
    for (let day = 0; day < 800; day++) {
      machine.pass(DAY)
      machine.set(day % 2 === 0 ? 4 * MINUTE : -4 * MINUTE)
      expect(may()).toEqual([true, true])
    }
    expect(said()).toBe('2028-08-09T12:00:00.000Z')
    expect(told).toEqual([])
  })

  it('never goes back', () => {
    const { machine, said } = clockAt()
    expect(said()).toBe(NOW)
    machine.set(-MINUTE)
    expect(said()).toBe(NOW)
    machine.pass(2 * MINUTE)
    expect(said()).toBe('2026-06-01T12:01:00.000Z')
  })

  it.each([HOUR, 30 * DAY, 3 * YEAR])('is trusted after a sleep of %d ms', (ms) => {
    const { machine, clock, may, told } = clockAt()
    machine.pass(HOUR)
    machine.suspend(ms)
    expect(may()).toEqual([true, true])
    expect(clock.now()).toBe(Date.parse(NOW) + HOUR + ms)
    expect(told).toEqual([])
  })
})

describe.each([10 * YEAR, -10 * YEAR, HOUR, -HOUR, 6 * MINUTE, -6 * MINUTE])('A clock that is set by %d ms', (by) => {
  it('is not trusted until it is set back; meanwhile its time continues', () => {
    const { machine, may, told, said } = clockAt()
    machine.set(by)
    expect(may()).toEqual([false, false])
    expect(said()).toBe(NOW)
    machine.pass(HOUR)
    machine.suspend(HOUR)
    expect(said()).toBe('2026-06-01T14:00:00.000Z')
    machine.set(-by)
    machine.pass(MINUTE)
    expect(may()).toEqual([true, true])
    expect(said()).toBe('2026-06-01T14:01:00.000Z')
    expect(told).toEqual([expect.stringContaining('The clock jumped from 2026-06-01T12:00:00.000Z to ')])
  })

  it('is trusted once accepted, and checked from there on', () => {
    const { machine, clock, may } = clockAt()
    machine.set(by)
    expect(may()).toEqual([false, false])
    clock.accept()
    expect(may()).toEqual([true, true])
    expect(clock.now()).toBe(Date.parse(NOW) + by)
    machine.set(-by)
    expect(may()).toEqual([false, false])
  })
})

describe('A clock at the start', () => {
  it.each([
    [30 * DAY, [true, true]],
    [100 * DAY, [true, false]],
    [10 * YEAR, [false, false]],
    [-MINUTE, [true, true]],
    [-10 * YEAR, [true, true]],
  ])('allows stamps and sweeps by its distance from the newest version: %d ms', (after, wanted) => {
    const { clock, may } = clockAt(NOW, Date.parse(NOW) - after)
    expect(may()).toEqual(wanted)
    clock.accept()
    expect(may()).toEqual([true, true])
  })

  it('reports that it is behind the newest version, and returns its own time', () => {
    const { told, said } = clockAt(NOW, Date.parse(NOW) + 10 * YEAR)
    expect(told).toEqual([
      'The clock says 2026-06-01T12:00:00.000Z, but there is a version of 2036-05-29T12:00:00.000Z: one of the two is wrong',
    ])
    expect(said()).toBe(NOW)
  })

  it.each([
    [31 * DAY, []],
    [
      32 * DAY,
      [
        expect.stringMatching(
          /^The clock says 2026-06-01.* the newest version is of 2026-04-30.*: nothing is swept until .* stop the server$/,
        ),
      ],
    ],
    [366 * DAY, [expect.stringContaining('nothing is swept until it is accepted')]],
  ])('reports blocked sweeps if it is far after the newest version: %d ms', (after, wanted) => {
    expect(clockAt(NOW, Date.parse(NOW) - after).told).toEqual(wanted)
  })

  it('reports refused writes if it is years after the newest version', () => {
    const { told } = clockAt(NOW, Date.parse(NOW) - 10 * YEAR)
    expect(told).toEqual([expect.stringMatching(/^The clock says 2026.* the newest version is of 2016.*: writes are refused/)])
  })

  it('stays trusted when the store is replaced; a distrusted one becomes trusted', () => {
    const believed = clockAt(NOW, Date.parse(NOW) - DAY)
    believed.clock.compareWith(Date.parse(NOW) - 10 * YEAR)
    believed.clock.compareWith(Date.parse(NOW) + 10 * YEAR)
    expect([believed.may(), believed.told]).toEqual([[true, true], []])
    const doubted = clockAt(NOW, Date.parse(NOW) - 10 * YEAR)
    doubted.clock.compareWith(Date.parse(NOW) - DAY)
    expect(doubted.may()).toEqual([true, true])
  })

  it('accepts one jump forward past the newest version, but not of years', () => {
    const late = clockAt('2020-01-01T00:00:00.000Z', Date.parse(NOW))
    late.machine.set(Date.parse(NOW) - Date.parse('2020-01-01T00:00:00.000Z') + DAY)
    expect(late.may()).toEqual([true, true])
    expect(late.said()).toBe('2026-06-02T12:00:00.000Z')
    late.machine.set(DAY)
    expect(late.may()).toEqual([false, false])
    const wrong = clockAt('2020-01-01T00:00:00.000Z', Date.parse(NOW))
    wrong.machine.set(16 * YEAR)
    expect(wrong.may()).toEqual([false, false])
  })
})
