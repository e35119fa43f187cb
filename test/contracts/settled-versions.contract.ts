/** What lambdas/ports/store/settled-versions.ts promises, as tests. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Clock } from '../../lambdas/ports/execution/clock.ts'
import { isFault } from '../../lambdas/ports/faults.ts'
import type { CommitResult, ResourceReader, ResourceWriter, Write } from '../../lambdas/ports/store/resource-store.ts'
import type { SettledVersions } from '../../lambdas/ports/store/settled-versions.ts'
import { waitOneTurn } from '../fixtures/turns.ts'
import { patientKeyOf, writeOf } from '../fixtures/versions.ts'

export type SettledVersionsUnderTest = {
  readonly store: ResourceReader & ResourceWriter & SettledVersions
  readonly clock: Clock
  /** Time goes on (ms), but not while something is sent: a try may not take long. */
  readonly pass: (time: number) => Promise<void>
  readonly close: () => Promise<void>
}

export function settledVersionsContract(name: string, create: () => Promise<SettledVersionsUnderTest>): void {
  let parts: SettledVersionsUnderTest
  beforeAll(async () => {
    parts = await create()
  })
  afterAll(() => parts.close())

  const seen = async (tenant: string, until: number): Promise<readonly string[]> => {
    const { versions, more } = await parts.store.history({ tenant }, { before: until + 1 }, undefined, 10_000)
    expect(more).toBe(false)
    return versions.map(({ id, versionId, lastUpdated }) => `${id}/${versionId} ${lastUpdated}`).toSorted()
  }

  const untilSettled = async (tenant: string, instant: number): Promise<void> => {
    while (!(await parts.store.settled(tenant, instant))) await parts.pass(1_000)
  }

  /** Stamped, and only then committed. */
  const commit = async (write: Write): Promise<CommitResult['kind'] | 'too late'> => {
    try {
      return (await parts.store.commit([write], [])).kind
    } catch (error) {
      if (isFault(error, 'overloaded')) return 'too late'
      throw error
    }
  }

  describe(`${name}: a settled instant`, () => {
    it('stays settled, and rejects later writes with its stamp or an earlier one', async () => {
      const tenant = randomUUID()
      const instant = parts.clock.now()
      const there = writeOf(patientKeyOf('there', tenant), { lastUpdated: instant })
      expect(await commit(there)).toBe('committed')
      await untilSettled(tenant, instant)
      const before = await seen(tenant, instant)
      expect(before).toEqual([`there/1 ${instant}`])
      for (const lastUpdated of [instant, instant - 1_000]) {
        const late = writeOf(patientKeyOf('late', tenant), { lastUpdated })
        expect(['late', 'too late']).toContain(await commit(late))
        expect(await parts.store.current([late])).toEqual([undefined])
      }
      expect(await parts.store.settled(tenant, instant)).toBe(true)
      await parts.pass(1)
      expect(await commit(writeOf(patientKeyOf('later', tenant), { lastUpdated: parts.clock.now() }))).toBe('committed')
      expect(await seen(tenant, instant)).toEqual(before)
    })

    it('gains no versions from writes that were under way', async () => {
      const tenant = randomUUID()
      const kinds: string[] = []
      const settled: { readonly instant: number; readonly found: readonly string[] }[] = []
      let isWriting = true
      const writing = Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          for (let turns = 0; turns < n; turns++) await waitOneTurn()
          const write = writeOf(patientKeyOf(`p${n}`, tenant), { lastUpdated: parts.clock.now() })
          for (let turns = 0; turns < n % 7; turns++) await waitOneTurn()
          kinds.push(await commit(write))
        }),
      ).finally(() => {
        isWriting = false
      })
      while (isWriting) {
        const instant = parts.clock.now()
        await parts.pass(1)
        await untilSettled(tenant, instant)
        settled.push({ instant, found: await seen(tenant, instant) })
      }
      await writing
      expect(kinds).toContain('committed')
      expect(settled.length).toBeGreaterThan(0)
      for (const { instant, found } of settled) expect(await seen(tenant, instant)).toEqual(found)
    })
  })
}
