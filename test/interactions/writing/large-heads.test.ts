/** Checks of a commit that look at many large resources. Bytes of each reading are counted: what it held is let go before the next. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { announcingWriter } from '../../../lambdas/interactions/writing/canonical-announcements.ts'
import { integrityWriter } from '../../../lambdas/interactions/writing/referential-integrity.ts'
import type { AnnouncedCanonical } from '../../../lambdas/ports/definitions/canonicals.ts'
import type { SearchIndex } from '../../../lambdas/ports/search/search-index.ts'
import type { ResourceKey, ResourceReader, ResourceVersion, ResourceWriter } from '../../../lambdas/ports/store/resource-store.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const COUNT = 50
const SIZE = 6_000_000

let readings: number[]
beforeEach(() => {
  readings = []
})

const idOf = (n: number): string => `r${n}`

function largeVersion(key: ResourceKey): ResourceVersion | undefined {
  if (key.id === idOf(7)) return undefined
  const start = `{"resourceType":"${key.type}","id":"${key.id}","url":"urn:${key.id}","x":"`
  return versionOf(writeOf(key, { body: `${start}${'x'.repeat(SIZE - start.length - 2)}"}` }))
}

/** Like the stores: the reading ends with the body that uses the room up. */
const current: ResourceReader['current'] = async (keys, room = Number.POSITIVE_INFINITY) => {
  const found: (ResourceVersion | undefined)[] = []
  for (let left = room; left > 0 && found.length < keys.length; left -= found.at(-1)?.body.length ?? 0)
    found.push(largeVersion(keys[found.length]!))
  readings.push(found.reduce((sum, version) => sum + (version?.body.length ?? 0), 0))
  return found
}

const writer: ResourceWriter = { commit: async () => ({ kind: 'committed' }) }
const numbers = [...Array(COUNT).keys()]

describe('Large resources', () => {
  it('are looked up in parts by referential integrity, which names the missing one', async () => {
    const resources = () => ({ current, versions: async () => [], history: async () => ({ versions: [], more: false }) })
    const references = numbers.map((n) => ({ reference: `Observation/${idOf(n)}` }))
    const write = writeOf(resourceKeyOf('t', 'List', 'l'), { body: { resourceType: 'List', entry: references.map((item) => ({ item })) } })
    const by = { access: WHOLE_ACCESS, reading: { baseUrl: 'http://x' }, requestId: 'r' }
    const commit = integrityWriter({ writer, resources, index: {} as SearchIndex }).commit([write], [], by)
    await expect(commit).rejects.toMatchObject({ status: 422, issues: [{ text: `There is no Observation/${idOf(7)} to refer to` }] })
    expect(Math.max(...readings)).toBe(SIZE)
    expect(readings.filter((bytes) => bytes > 0)).toHaveLength(COUNT - 1)
  })

  it('are looked up in parts for the canonicals that they no longer carry', async () => {
    const noted: AnnouncedCanonical[] = []
    const notes = {
      announce: async () => undefined,
      noted: async (left: readonly AnnouncedCanonical[]) => {
        noted.push(...left)
        return left
      },
      forget: async () => undefined,
    }
    const writes = numbers.map((n) =>
      writeOf({ ...patientKeyOf(idOf(n)), type: 'ValueSet' }, { expected: 1, body: { resourceType: 'ValueSet' } }),
    )
    await announcingWriter({ writer, resources: { current }, notes, report: () => undefined }).commit(writes, [])
    expect(noted.map(({ url }) => url)).toEqual(numbers.filter((n) => n !== 7).map((n) => `urn:${idOf(n)}`))
    expect(Math.max(...readings)).toBe(SIZE)
  })
})
