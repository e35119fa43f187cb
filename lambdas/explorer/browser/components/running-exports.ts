/** Exports that are running, with their progress, for administrators. */
import { h } from 'preact'
import { type Answer, read } from '../http.ts'
import { isTree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { tenant } from '../session.ts'
import { Show, useLoaded } from './loaded.ts'

type Props = { readonly add: (answer: Answer) => void; readonly isShort?: boolean }

/** `isShort`: one line with their number only. `add`: receives the answer, for the requests of the page. */
export function RunningExports({ add, isShort = false }: Props) {
  const load = async () => {
    const answer = await read('/export?state=in-progress&_count=100')
    add(answer)
    return answer
  }
  const [loaded, retry] = useLoaded(load, `running exports ${tenant.value}`)
  const show = ({ body }: Answer) => {
    const parts = treesOf(isTree(body) ? body.parameter : undefined).map(({ part }) => treesOf(part))
    const number =
      parts.length === 0 ? 'No export is running' : `${parts.length} ${parts.length === 1 ? 'export is' : 'exports are'} running`
    const line = h('p', { class: 'quiet' }, `${number}. `, h('a', { href: linkTo('/exports') }, 'Progress of exports'))
    if (isShort) return line
    const textIn = (part: (typeof parts)[number], name: string, value: string) =>
      textOf(part.find((each) => each.name === name)?.[value]) ?? ''
    const texts = parts.map((part) => `${textIn(part, 'client', 'valueString')}: ${textIn(part, 'progress', 'valueString')}`)
    return h(
      'div',
      null,
      line,
      h(
        'ul',
        null,
        texts.map((text, i) => h('li', { key: i }, text)),
      ),
    )
  }
  return h(Show<Answer>, { loaded, retry, show })
}
