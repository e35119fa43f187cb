/** Shows the value of any element. The shape of a value decides how it is shown, because the pages know no definitions. */
import { type ComponentChild, h } from 'preact'
import { isTree, type Json, listOf, type Tree, textOf } from '../json.ts'
import { linkTo } from '../place.ts'
import { addressText, isAddress } from './address.ts'
import { AttachmentView, isAttachment } from './attachment.ts'
import { codeableConceptText, codesOf, codingText, isCodeableConcept, isCoding } from './codeable-concept.ts'
import { dateText, isDateText } from './date-time.ts'
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

/** Shows a value with links, and with its parts if it has no text of its own. */
export function Value({ value }: { readonly value: Json | undefined }): ComponentChild {
  if (Array.isArray(value)) {
    if (value.length === 1) return h(Value, { value: value[0] })
    return h(
      'ul',
      { class: 'values' },
      (value as readonly Json[]).map((each, i) => h('li', { key: i }, h(Value, { value: each }))),
    )
  }
  const text = textOf(value)
  if (text !== undefined) return isDateText(text) ? h('time', { title: text }, dateText(text)) : h('span', { dir: 'auto' }, text)
  if (!isTree(value)) return null
  if (isNarrative(value)) return h(NarrativeView, { narrative: value })
  if (isAttachment(value)) return h(AttachmentView, { attachment: value })
  if (isReference(value)) return h(ReferenceView, { reference: value })
  const [is, toText] = TEXTS.find(([is]) => is(value)) ?? []
  if (toText === undefined) return h(Elements, { tree: value })
  const title = is === isCodeableConcept || is === isCoding ? codesOf(value) : undefined
  return h('span', { dir: 'auto', title }, toText(value) || JSON.stringify(value))
}

function ReferenceView({ reference }: { readonly reference: Tree }) {
  const path = targetPathOf(reference)
  const text = referenceText(reference)
  return path === undefined ? h('span', { dir: 'auto' }, text) : h('a', { href: linkTo(path), dir: 'auto' }, text)
}

/** Shows the elements of a value by name. `skip`: names that are left out. */
export function Elements({ tree, skip = [] }: { readonly tree: Tree; readonly skip?: readonly string[] }) {
  const names = Object.keys(tree).filter((name) => !skip.includes(name))
  return h(
    'dl',
    { class: 'elements' },
    names.map((name) => h('div', { key: name }, h('dt', null, name), h('dd', null, h(Value, { value: tree[name] })))),
  )
}
