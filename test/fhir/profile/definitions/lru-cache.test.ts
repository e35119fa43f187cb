/** The cache of definitions is bounded by their size: it retains recently used ones, and loads evicted ones again. */
import { expect, it } from '@jest/globals'
import { LruCache } from '../../../../lambdas/fhir/profile/definitions/lru-cache.ts'
import { LoadingLibrary, newCacheCapacity } from '../../../../lambdas/fhir/profile/definitions/missing-definitions.ts'
import { newFileCache, PackageReader } from '../../../../lambdas/packages/package-reader.ts'

const codes = (url: string, count: number) => ({ url, include: [{ codes: Array.from({ length: count }, (_, i) => `code-${i}`) }] })

it('the cache evicts entries that were not used since the last eviction', () => {
  const kept = new LruCache<number>(3)
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const add = (...some: readonly string[]) => some.forEach((name) => void kept.set(name, 0, 1))
  const there = () => names.filter((name) => kept.has(name)).join('')
  add('a', 'b', 'c')
  kept.get('a')
  add('d')
  expect(there()).toBe('acd')
  add('e', 'f')
  expect(there()).toBe('aef')
  add('d', 'b')
  expect(there()).toBe('bdf')
})

it('value sets of all tenants share one capacity', async () => {
  const found: string[] = []
  const valueSet = async (url: string) => {
    found.push(url)
    return url === 'none' ? undefined : codes(url, url === 'large' ? 10_000 : 100)
  }
  const find = { profile: async () => undefined, codeSystem: async () => undefined, valueSet }
  const room = newCacheCapacity(2_600)
  const [one, other] = [new LoadingLibrary(find, undefined, undefined, room), new LoadingLibrary(find, undefined, undefined, room)]
  const use = async (known: LoadingLibrary, ...urls: readonly string[]) => {
    for (const url of urls) if (known.valueSet(url) === undefined) await known.load()
  }
  await use(one, 'a', 'b', 'none', 'a', 'none', 'b')
  expect(found).toEqual(['a', 'b', 'none'])
  await use(other, 'a')
  await use(one, 'b', 'a')
  expect(found.slice(3)).toEqual(['a', 'a'])
  await use(one, 'large', 'large')
  expect([found.slice(5), one.valueSet('large')?.url]).toEqual([['large'], 'large'])
})

it('cached profiles include their base profiles and are evicted with them', async () => {
  let looked = 0
  const elements = [{ id: 'Patient.name', min: 1 }]
  const profile = async (url: string) => {
    looked++
    const isWhole = url === 'base'
    return {
      url,
      type: 'Patient',
      isWhole,
      elements: isWhole ? Array.from({ length: 100 }, (_, i) => ({ id: `Patient.x${i}` })) : elements,
      base: 'base',
    }
  }
  const nothing = async () => undefined
  const known = new LoadingLibrary({ profile, valueSet: nothing, codeSystem: nothing }, undefined, undefined, newCacheCapacity(5_000))
  for (const url of ['a', 'b', 'c', 'a']) {
    if (known.tree(url) === undefined) await known.load()
    expect(known.tree(url)?.profile.url).toBe(url)
  }
  expect(looked).toBe(8)
})

it('files of all packages share one capacity', async () => {
  const read: string[] = []
  const files = newFileCache(1_000)
  const opened = ['one', 'two'].map((name) => {
    const kept = { name, version: '1', isThere: async () => true, read: async (file: string) => {
      if (file !== 'package.json') read.push(`${name} ${file}`)
      return file === 'package.json' ? JSON.stringify({ name, version: '1' }) : JSON.stringify({ a: 'x'.repeat(400) })
    } } // biome-ignore format: one package
    return new PackageReader(kept, () => undefined, false, files)
  })
  const [one, two] = [opened[0]!, opened[1]!]
  for (const file of ['A', 'B', 'A', 'B']) await one.file(file)
  expect(read).toEqual(['one A.json', 'one B.json'])
  await two.file('A')
  await one.file('B')
  await one.file('A')
  expect(read.slice(2)).toEqual(['two A.json', 'one A.json'])
})
