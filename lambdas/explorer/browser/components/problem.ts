/** Error of a request: the issues of its OperationOutcome, or a sentence. */
import { h } from 'preact'
import { Refusal } from '../http.ts'
import { isTree, listOf, type Tree, textOf, treesOf } from '../json.ts'

/** Returns the function that selects the element of an issue, or undefined if there is none. */
type SelectorOf = (issue: Tree) => (() => void) | undefined

type Props = { readonly error: unknown; readonly retry?: () => void; readonly selectorOf?: SelectorOf }

export function Problem({ error, retry, selectorOf }: Props) {
  const issues = error instanceof Refusal && isTree(error.answer.body) ? treesOf(error.answer.body.issue) : []
  const { status, seenAs } = error instanceof Refusal ? error.answer : { status: 0 }
  return h(
    'div',
    { class: 'problem', role: 'alert' },
    h('p', null, h('strong', null, titleOf(error as Error, status, seenAs))),
    issues.length > 0 && h(Issues, { issues, ...(selectorOf === undefined ? {} : { selectorOf }) }),
    retry !== undefined && h('button', { type: 'button', onClick: retry }, 'Try again'),
  )
}

/** Returns the title of an error. A hidden resource has the same answer as a missing one, so a view does not distinguish them. */
export function titleOf({ message }: Error, status: number, seenAs: string | undefined): string {
  if (seenAs !== undefined && [403, 404, 410].includes(status)) return `Not visible to ${seenAs}`
  return status === 403 ? 'You may not see this' : message
}

/** List of issues, each with the element that it is about. */
export function Issues({ issues, selectorOf = () => undefined }: { readonly issues: readonly Tree[]; readonly selectorOf?: SelectorOf }) {
  return h(
    'ul',
    { class: 'issues' },
    issues.map((issue, i) => {
      const select = selectorOf(issue)
      return h(
        'li',
        { key: i, class: textOf(issue.severity) ?? '' },
        h('b', null, textOf(issue.severity) ?? ''),
        ' ',
        h('span', null, issueText(issue)),
        listOf(issue.expression).map((each) => [' ', h('code', null, textOf(each) ?? '')]),
        select !== undefined && [' ', h('button', { type: 'button', class: 'plain', onClick: select }, 'Select the line')],
      )
    }),
  )
}

export const issueText = ({ details, diagnostics, code }: Tree): string =>
  (isTree(details) ? textOf(details.text) : undefined) ?? textOf(diagnostics) ?? textOf(code) ?? ''
