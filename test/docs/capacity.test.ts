/** The page of three sizes: its settings are those that the model proposes, and it shows what does not fit. */
import { describe, expect, it } from '@jest/globals'
import { capacityPage, SIZES } from '../../lib/docs/generate.ts'
import { DEFAULT_MIX } from '../../lib/model/load.ts'
import { modelOf } from '../../lib/model/model.ts'
import { settingsOf } from '../../lib/settings/settings.ts'

/** Returns the rows of the page: name → cells of the columns. Names that several tables have, such as `part`, are headings. */
const rowsOf = (page: string): ReadonlyMap<string, readonly string[]> =>
  new Map(
    [...page.matchAll(/^\| (.*) \|$/gm)].map(([, row]) => {
      const [name, ...cells] = row!.split(' | ')
      return [name!, cells]
    }),
  )

/** Returns the settings of a column, as the file of a stage holds them. */
function settingsIn(page: string, column: number): object {
  const settings: Record<string, Record<string, unknown>> = {}
  for (const [name, cells] of rowsOf(page.split('## Settings')[1]!.split('## Parts')[0]!)) {
    const value = /^`(.*)`$/.exec(cells[column]!)?.[1]
    const path = name.replaceAll('`', '').split('.')
    if (value === undefined) continue
    const object = path.slice(0, -1).reduce((at: Record<string, unknown>, part) => {
      at[part] ??= {}
      return at[part] as Record<string, unknown>
    }, settings)
    object[path.at(-1)!] = /^\d+$/.test(value) ? Number(value) : value
  }
  return settings.search === undefined ? settings : { ...settings, search: { kind: 'domain', ...settings.search } }
}

const sizeOf = (resources: number, writes: number, reads: number) => ({
  size: { resources, writes, reads, searches: 5, mix: DEFAULT_MIX },
})

describe('The page of capacity', () => {
  const page = capacityPage(SIZES)

  it('has a million, 100 million and a billion resources', () =>
    expect(rowsOf(page).get('resources')).toEqual(['1,000,000', '100,000,000', '1,000,000,000']))

  it.each(Object.keys(SIZES).map((name, i) => [name, i] as const))('names the settings of %s', (name, i) => {
    const settings = settingsIn(page, i)
    expect(settings).toEqual(modelOf(SIZES[name]!).settings)
    expect(settingsOf(settings)).toMatchObject(settings)
  })

  it('names other nodes of a larger size', () => {
    const sizes = sizeOf(2e9, 100, 0)
    expect(settingsIn(capacityPage(sizes), 0)).toEqual(modelOf(sizes.size).settings)
  })

  it.each([
    [1e6, 5, 'yes', 'none'],
    [1e6, 9_995, 'yes', '100 %: requests per second at API Gateway, 10,005 of 10,000'],
    [4.1e9, 5, 'no', '210 %: read units of the resource table during an export, 84,107 of 40,000'],
  ])('shows whether %d resources with %d reads per second fit', (resources, reads, fits, quotas) => {
    const rows = rowsOf(capacityPage(sizeOf(resources, 5, reads)))
    expect([rows.get('fits'), rows.get('quotas to raise')]).toEqual([[fits], [quotas]])
  })

  it('names the limit of which the load uses most', () => {
    const [cell] = rowsOf(capacityPage(sizeOf(1e10, 5, 5))).get('limit with the largest part in use')!
    const used = modelOf(sizeOf(1e10, 5, 5).size).limits.filter(({ isRaised }) => !isRaised)
    const most = Math.max(...used.map((each) => each.used / each.limit))
    expect(cell).toContain(`${Math.round(most * 100)} %: ${used.find((each) => each.used / each.limit === most)!.what}`)
  })

  it('adds up the dollars', () => {
    const cells = [...rowsOf(page.split('## Dollars of a month')[1]!)].slice(2)
    const numbers = cells.map(([, [, , billion]]) => Number(billion!.replaceAll(/[$,]/g, '')))
    expect(numbers).toHaveLength(modelOf(SIZES['1 billion']!).costs.length + 1)
    expect(Math.abs(numbers.slice(0, -1).reduce((sum, each) => sum + each) - numbers.at(-1)!)).toBeLessThan(numbers.length)
  })
})
