/** Whether an answer has anything in it that who asked may not see. */

import type { Answer } from '../site.ts'
import { type Kept, sees, type Who } from './oracle.ts'
import { ID, MARK, type Population } from './population.ts'

/** Of a population as it is. */
export class LeakCheck {
  readonly #population: Population
  readonly #ids = new Map<Who, ReadonlySet<string>>()

  constructor(population: Population) {
    this.#population = population
  }

  /**
   * Returns the marks and ids of hidden resources in an answer. `asked`: everything that was sent, which the answer may repeat. `opened`: a resource
   * that the answer may show.
   */
  leaksIn({ text, headers }: Answer, who: Who, asked: string, opened?: Kept): readonly string[] {
    const shown = JSON.stringify(opened?.versions.at(-1)?.json ?? '')
    const said = `${text} ${JSON.stringify(headers)}`.replace(/%2[CF]/g, ' ')
    const marks = [...new Set(said.match(MARK))].filter(
      (mark) => !asked.includes(mark) && !shown.includes(mark) && !this.#mayShow(mark, who),
    )
    const others = [...new Set(said.match(ID))].filter((id) => !asked.includes(id) && !shown.includes(id) && this.#population.ids.has(id))
    const ids = others.length === 0 ? [] : others.filter((id) => !this.#idsFor(who).has(id))
    return [...marks, ...ids]
  }

  #mayShow(mark: string, who: Who): boolean {
    const found = this.#population.versionOf(mark)
    return found !== undefined && this.#isShown(found.kept, found.version, who)
  }

  #isShown(kept: Kept, version: Kept['versions'][number], who: Who): boolean {
    return (['r', 's'] as const).some((letter) => sees(who, letter, kept, version, this.#population.find))
  }

  /** Of what may be seen, and of what that refers to. */
  #idsFor(who: Who): ReadonlySet<string> {
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
