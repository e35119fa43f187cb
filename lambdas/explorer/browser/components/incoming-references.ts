/** Resources that refer to a resource: their number for each search parameter, on request. */
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { type Answer, isDenied, noted, read, readAll } from '../http.ts'
import { isTree, listOf, type Tree, textOf, treesOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { Problem } from './problem.ts'
import { useTask } from './task.ts'

type Props = { readonly type: string; readonly id: string; readonly add: (answer: Answer) => void }

/** `parameter`: type and search parameter, such as `Observation:subject`. */
type Found = { readonly parameter: string; readonly query: string; readonly total: number }

/** Maximum searches in one batch. On AWS each of them is a request to the index. */
const AT_ONCE = 40

export function IncomingReferences({ type, id, add }: Props) {
  const [found, setFound] = useState<readonly Found[]>([])
  const [left, setLeft] = useState<readonly string[] | undefined>(undefined)
  const { error, isBusy, run } = useTask()
  const [isPartial, setPartial] = useState(false)
  const next = async (): Promise<void> => {
    const parameters = left ?? (await referringParametersOf(type, add))
    const { found: more, hasRefusals } = await noted(countReferences(parameters.slice(0, AT_ONCE), `${type}/${id}`), add)
    if (hasRefusals) setPartial(true)
    setFound([...found, ...more])
    setLeft(parameters.slice(AT_ONCE))
  }
  return h(
    'section',
    { class: 'findings', 'aria-label': 'References to this resource' },
    left?.length !== 0 &&
      h(
        'button',
        { type: 'button', disabled: isBusy, onClick: () => run(next) },
        left === undefined ? 'Count references' : `Count further references (${left.length} search parameters left)`,
      ),
    error !== undefined && h(Problem, { error }),
    isPartial && h('p', { class: 'quiet' }, 'Types that you may not search are left out.'),
    left !== undefined &&
      found.length === 0 &&
      h('p', { class: 'nothing' }, left.length === 0 ? 'No reference found.' : 'No reference found yet.'),
    h(
      'ul',
      null,
      found.map(({ parameter, query, total }) =>
        h('li', { key: parameter }, h('a', { href: linkTo(`/${query}`) }, parameter), ` ${total.toLocaleString('en')}`),
      ),
    ),
  )
}

/** Returns the parameters by which resources may refer to the type, as the CapabilityStatement lists them. Throws Refusal. */
async function referringParametersOf(type: string, add: (answer: Answer) => void): Promise<readonly string[]> {
  const answer = await noted(read('/metadata'), add)
  const rest = treesOf(isTree(answer.body) ? answer.body.rest : undefined)
  const resource = rest.flatMap((each) => treesOf(each.resource)).find((each) => each.type === type)
  return listOf(resource?.searchRevInclude)
    .flatMap((each) => textOf(each) ?? [])
    .filter((each) => each.includes(':'))
}

async function countReferences(parameters: readonly string[], target: string) {
  const queries = parameters.map((parameter) => `${parameter.replace(':', '?')}=${encodeURIComponent(target)}`)
  const { answer, entries } = await readAll(queries.map((query) => `${query}&_summary=count`))
  const found = parameters.map((parameter, i): Found => ({ parameter, query: queries[i]!, total: totalOf(entries[i]) }))
  const hasRefusals = entries.some(isDenied)
  return { answer, found: found.filter(({ total }) => total > 0), hasRefusals }
}

const totalOf = (entry: Tree | undefined): number => (isTree(entry?.resource) ? Number(textOf(entry.resource.total) ?? 0) : 0)
