/** Shows the value of any element. The shape of a value decides how it is shown, because the pages know no definitions. */
import { type ComponentChild, h } from 'preact'
import { Issues } from '../components/problem.ts'
import { type Mark, marksByPart } from '../issue-places.ts'
import { isTree, type Json, listOf, type Tree, textOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { addressText, isAddress } from './address.ts'
import { AttachmentView, isAttachment } from './attachment.ts'
import { codeableConceptText, codesOf, codingText, isCodeableConcept, isCoding } from './codeable-concept.ts'
import { dateText, isDateText, originalOf } from './date-time.ts'
import { humanNameText, isHumanName } from './human-name.ts'
import { identifierText, isIdentifier } from './identifier.ts'
import { isNarrative, NarrativeView } from './narrative.ts'
import { isPeriod, periodText } from './period.ts'
import { isQuantity, isRange, isRatio, quantityText, rangeText, ratioText } from './quantity.ts'
import { isReference, referenceText, targetPathOf } from './reference.ts'

/** Datatypes with a text, in the order in which a shape is tried. */
const TEXTS: readonly (readonly [is: (tree: Tree) => boolean, text: (tree: Tree) => string])[] = [
  [isCodeableConcept, codeableConceptText],
  [isHumanName, humanNameText],
  [isAddress, addressText],
  [isRange, rangeText],
  [isRatio, ratioText],
  [isReference, referenceText],
  [isIdentifier, identifierText],
  [isQuantity, quantityText],
  [isCoding, codingText],
  [isPeriod, periodText],
]

/** Returns the value in one line, for a cell of a table. Values of a list are divided by semicolons. */
export function shortText(value: Json | undefined): string {
  return listOf(value)
    .map((each) => {
      const text = textOf(each)
      if (text !== undefined) return isDateText(text) ? dateText(text) : text
      if (!isTree(each)) return shortText(each)
      const [, toText] = TEXTS.find(([is]) => is(each)) ?? []
      return toText?.(each) ?? Object.values(each).map(shortText).filter(Boolean).join(', ')
    })
    .filter((text) => text !== '')
    .join('; ')
}

/** `marks`: issues of the value and of its parts. */
type ValueProps = { readonly value: Json | undefined; readonly marks?: readonly Mark[] }

const NONE: readonly Mark[] = []

/** Shows a value with links, and with its parts if it has no text of its own. Each issue stands below the smallest part that is shown. */
export function Value({ value, marks = NONE }: ValueProps): ComponentChild {
  if (marks.length === 0) return plainOf(value, NONE)
  const isWhole = !Array.isArray(value) && !hasParts(value)
  const issues = marks.filter(({ path }) => isWhole || path.length === 0).map(({ issue }) => issue)
  return [plainOf(value, isWhole ? NONE : marks), issues.length > 0 && h(Issues, { issues })]
}

/** Whether the value is shown by its elements. */
const hasParts = (value: Json | undefined): boolean =>
  isTree(value) && ![isNarrative, isAttachment, isReference, ...TEXTS.map(([is]) => is)].some((is) => is(value))

function plainOf(value: Json | undefined, marks: readonly Mark[]): ComponentChild {
  if (Array.isArray(value)) {
    const marksOf = marksByPart(marks)
    const items = (value as readonly Json[]).map((each, i) => h(Value, { key: i, value: each, marks: marksOf(i) }))
    if (items.length === 1) return items[0]
    return h(
      'ul',
      { class: 'values' },
      items.map((item, i) => h('li', { key: i }, item)),
    )
  }
  const text = textOf(value)
  if (text !== undefined) return isDateText(text) ? h('time', { title: text }, dateText(text)) : h('span', { dir: 'auto' }, text)
  if (!isTree(value)) return null
  if (isNarrative(value)) return h(NarrativeView, { narrative: value })
  if (isAttachment(value)) return h(AttachmentView, { attachment: value })
  if (isReference(value)) return h(ReferenceView, { reference: value })
  const [is, toText] = TEXTS.find(([is]) => is(value)) ?? []
  if (toText === undefined) return h(Elements, { tree: value, marks })
  const title = is === isCodeableConcept || is === isCoding ? codesOf(value) : is === isPeriod ? originalOf(value) : undefined
  return h('span', { dir: 'auto', title }, toText(value) || JSON.stringify(value))
}

function ReferenceView({ reference }: { readonly reference: Tree }) {
  const path = targetPathOf(reference)
  const text = referenceText(reference)
  return path === undefined ? h('span', { dir: 'auto' }, text) : h('a', { href: linkTo(path), dir: 'auto' }, text)
}

type ElementsProps = { readonly tree: Tree; readonly skip?: readonly string[]; readonly marks?: readonly Mark[] }

/** Shows the elements of a value by name. `skip`: names that are left out. `marks`: issues of the elements. */
export function Elements({ tree, skip = [], marks = NONE }: ElementsProps) {
  const names = Object.keys(tree).filter((name) => !skip.includes(name))
  const marksOf = marksByPart(marks)
  return h(
    'dl',
    { class: 'elements' },
    names.map((name) => h('div', { key: name }, h('dt', null, name), h('dd', null, h(Value, { value: tree[name], marks: marksOf(name) })))),
  )
}
