/** Exports that are running, with their progress, for administrators. */
import { h } from 'preact'
import { jobsOf } from '../export-jobs.ts'
import { type Answer, noted, read } from '../http.ts'
import { linkTo } from '../place.ts'
import { tenant } from '../session.ts'
import { Show, useLoaded } from './loaded.ts'

type Props = { readonly add: (answer: Answer) => void; readonly isShort?: boolean }

/** `isShort`: one line with their number only. `add`: receives the answer, for the requests of the page. */
export function RunningExports({ add, isShort = false }: Props) {
  const load = () => noted(read('/export?state=in-progress&_count=100'), add)
  const [loaded, retry] = useLoaded(load, `running exports ${tenant.value}`)
  const show = (answer: Answer) => {
    const jobs = jobsOf(answer)
    const number = jobs.length === 0 ? 'No export is running' : `${jobs.length} ${jobs.length === 1 ? 'export is' : 'exports are'} running`
    const line = h('p', { class: 'quiet' }, `${number}. `, h('a', { href: linkTo('/exports') }, 'Progress of exports'))
    if (isShort) return line
    return h(
      'div',
      null,
      line,
      h(
        'ul',
        null,
        jobs.map(({ id, client, progress }) => h('li', { key: id }, `${client}: ${progress}`)),
      ),
    )
  }
  return h(Show<Answer>, { loaded, retry, show })
}
