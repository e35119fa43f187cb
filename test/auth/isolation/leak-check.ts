/** Whether an answer has anything in it that who asked may not see. */

import type { TestResponse } from '../site.ts'
import { type Caller, maySee, type StoredResource } from './oracle.ts'
import { ID, MARK, type Population } from './population.ts'

/** Of a population as it is. */
export class LeakCheck {
  readonly #population: Population
  readonly #ids = new Map<Caller, ReadonlySet<string>>()

  constructor(population: Population) {
    this.#population = population
  }

  /**
   * Returns the marks and ids of hidden resources in an answer. `asked`: everything that was sent, which the answer may repeat. `opened`: a resource
   * that the answer may show.
   */
  leaksIn({ text, headers }: TestResponse, who: Caller, asked: string, opened?: StoredResource): readonly string[] {
    const shown = JSON.stringify(opened?.versions.at(-1)?.json ?? '')
    const said = `${text} ${JSON.stringify(headers)}`.replace(/%2[CF]/g, ' ')
    const marks = [...new Set(said.match(MARK))].filter(
      (mark) => !asked.includes(mark) && !shown.includes(mark) && !this.#mayShow(mark, who),
    )
    const others = [...new Set(said.match(ID))].filter((id) => !asked.includes(id) && !shown.includes(id) && this.#population.ids.has(id))
    const ids = others.length === 0 ? [] : others.filter((id) => !this.#idsFor(who).has(id))
    return [...marks, ...ids]
  }

  #mayShow(mark: string, who: Caller): boolean {
    const found = this.#population.versionOf(mark)
    return found !== undefined && this.#isShown(found.kept, found.version, who)
  }

  #isShown(kept: StoredResource, version: StoredResource['versions'][number], who: Caller): boolean {
    return (['r', 's'] as const).some((letter) => maySee(who, letter, kept, version, this.#population.find))
  }

  /** Of what may be seen, and of what that refers to. */
  #idsFor(who: Caller): ReadonlySet<string> {
    const known = this.#ids.get(who)
    if (known !== undefined) return known
    const ids = this.#population.all(who.tenant).flatMap((kept) => {
      const texts = kept.versions.flatMap((version) =>
        this.#isShown(kept, version, who) ? [kept.id, JSON.stringify(version.json ?? '')] : [],
      )
      return texts.join(' ').match(ID) ?? []
    })
    const found = new Set<string>(ids)
    this.#ids.set(who, found)
    return found
  }
}
