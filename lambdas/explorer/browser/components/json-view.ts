/** Indented JSON. References to resources of this server are links. */
import { type ComponentChild, h } from 'preact'
import { targetPathOf } from '../datatypes/reference.ts'
import { Decimal, isTree, type Json } from '../json.ts'
import { linkTo } from '../place.ts'

export const JsonView = ({ value }: { readonly value: Json }) => h('pre', { class: 'json', tabIndex: 0 }, partsOf(value, '', ''))

function partsOf(value: Json | undefined, name: string, indent: string): ComponentChild[] {
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    const items = value as readonly Json[]
    return ['[\n', ...items.flatMap((each, i) => [inner, ...partsOf(each, name, inner), i < items.length - 1 ? ',\n' : '\n']), indent, ']']
  }
  if (isTree(value)) {
    const names = Object.keys(value)
    return [
      '{\n',
      ...names.flatMap((each, i) => [
        inner,
        h('span', { class: 'name' }, JSON.stringify(each)),
        ': ',
        ...partsOf(value[each], each, inner),
        i < names.length - 1 ? ',\n' : '\n',
      ]),
      indent,
      '}',
    ]
  }
  if (value instanceof Decimal) return [value.text]
  const path = name === 'reference' && typeof value === 'string' ? targetPathOf({ reference: value }) : undefined
  const text = JSON.stringify(value) ?? 'null'
  return [path === undefined ? text : h('a', { href: linkTo(path) }, text)]
}
