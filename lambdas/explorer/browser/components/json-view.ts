/** Indented JSON. References to resources of this server are links. Each issue has a line above its value. */
import { type ComponentChild, h } from 'preact'
import { targetPathOf } from '../datatypes/reference.ts'
import { type Mark, marksByPart } from '../issue-places.ts'
import { Decimal, isTree, type Json, textOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { issueText } from './problem.ts'

/** `marks`: issues of the values. */
type Props = { readonly value: Json; readonly marks?: readonly Mark[] }

export const JsonView = ({ value, marks = [] }: Props) => h('pre', { class: 'json', tabIndex: 0 }, partsOf(value, '', '', marks))

/** Returns the lines of the issues of the value itself. The style excludes them from a selection, so that a copy is valid JSON. */
const issueLines = (marks: readonly Mark[], indent: string): ComponentChild[] =>
  marks.flatMap(({ path, issue }) => {
    const severity = textOf(issue.severity) ?? ''
    return path.length > 0 ? [] : [h('span', { class: `mark ${severity}` }, `${indent}${severity}: ${issueText(issue)}\n`)]
  })

function partsOf(value: Json | undefined, name: string, indent: string, marks: readonly Mark[]): ComponentChild[] {
  const inner = `${indent}  `
  const marksOf = marksByPart(marks)
  if (Array.isArray(value)) {
    const items = value as readonly Json[]
    const partsOfItem = (each: Json, i: number) => {
      const own = marksOf(i)
      return [...issueLines(own, inner), inner, ...partsOf(each, name, inner, own), i < items.length - 1 ? ',\n' : '\n']
    }
    return ['[\n', ...items.flatMap(partsOfItem), indent, ']']
  }
  if (isTree(value)) {
    const names = Object.keys(value)
    return [
      '{\n',
      ...names.flatMap((each, i) => {
        const own = marksOf(each)
        return [
          ...issueLines(own, inner),
          inner,
          h('span', { class: 'name' }, JSON.stringify(each)),
          ': ',
          ...partsOf(value[each], each, inner, own),
          i < names.length - 1 ? ',\n' : '\n',
        ]
      }),
      indent,
      '}',
    ]
  }
  if (value instanceof Decimal) return [value.text]
  const path = name === 'reference' && typeof value === 'string' ? targetPathOf({ reference: value }) : undefined
  const text = JSON.stringify(value) ?? 'null'
  return [path === undefined ? text : h('a', { href: linkTo(path) }, text)]
}
