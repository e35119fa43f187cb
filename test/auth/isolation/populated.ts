/** What two tenants keep, somewhere that can be asked: the world of the leak matrix. Which home it is does not matter. */
import { afterAll, beforeAll } from '@jest/globals'
import { type CallerRequest, openSite, type Site, type SiteOptions } from '../site.ts'
import { LeakCheck } from './leak-check.ts'
import { type Population, populate } from './population.ts'

export type PopulatedSite = { readonly ask: CallerRequest; readonly population: Population; readonly check: LeakCheck }

export async function populateSite(ask: CallerRequest): Promise<PopulatedSite> {
  const population = await populate(ask)
  return { ask, population, check: new LeakCheck(population) }
}

/** In the embedded home, for a test file. */
export function withPopulatedSite(options: SiteOptions = {}): () => PopulatedSite & { readonly site: Site } {
  let site: Site | undefined
  let world: PopulatedSite | undefined
  beforeAll(async () => {
    site = await openSite(options)
    world = await populateSite(site.ask)
  })
  afterAll(() => site?.close())
  return () => ({ ...world!, site: site! })
}
