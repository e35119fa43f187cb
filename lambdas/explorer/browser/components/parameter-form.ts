/** Form that defines a search parameter, by an update of a SearchParameter. */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import { type Answer, ask, noted } from '../http.ts'
import { BASE } from '../settings.ts'
import { Problem } from './problem.ts'
import { useTask } from './task.ts'

const TYPES = ['string', 'token', 'date', 'number', 'quantity', 'reference', 'uri']

const EMPTY = { code: '', base: '', type: 'string', expression: '' }
type Fields = typeof EMPTY

type Props = {
  /** Ids of the parameters that exist. */
  readonly defined: readonly string[]
  /** Called after the server accepted a definition. */
  readonly done: () => void
  /** Receives each answer, for the requests of the page. */
  readonly add: (answer: Answer) => void
}

export function ParameterForm({ defined, done, add }: Props) {
  const [fields, setFields] = useState<Fields>(EMPTY)
  const [accepted, setAccepted] = useState('')
  const { error, isBusy, run } = useTask()
  const change = (name: keyof Fields) => (event: Event) => {
    setFields({ ...fields, [name]: (event.currentTarget as HTMLInputElement).value })
    setAccepted('')
  }
  const submit = (event: Event) => {
    event.preventDefault()
    setAccepted('')
    run(async () => {
      await noted(define(fields), add)
      setFields(EMPTY)
      setAccepted(`The server accepted ${fields.code}, and builds its index.`)
      done()
    })
  }
  const field = (name: keyof Fields, label: string, placeholder: string, pattern?: string): ComponentChild =>
    h(
      'label',
      null,
      label,
      h('input', {
        value: fields[name],
        required: true,
        spellcheck: false,
        placeholder,
        onInput: change(name),
        ...(pattern === undefined ? {} : { pattern }),
      }),
    )
  return h(
    'form',
    { class: 'fields', onSubmit: submit },
    field('code', 'Code', 'nickname', '[A-Za-z0-9.\\-]{1,64}'),
    field('base', 'Resource types, separated by commas', 'Patient, Practitioner'),
    h(
      'label',
      null,
      'Type of the values',
      h(
        'select',
        { value: fields.type, onChange: change('type') },
        TYPES.map((type) => h('option', { key: type, value: type }, type)),
      ),
    ),
    field('expression', 'Expression', "Patient.name.where(use = 'nickname').given"),
    h(
      'p',
      { class: 'buttons' },
      h('button', { type: 'submit', disabled: isBusy }, defined.includes(fields.code) ? 'Replace' : 'Define'),
      h('span', { role: 'status' }, accepted),
    ),
    error !== undefined && h(Problem, { error }),
  )
}

const define = ({ code, base, type, expression }: Fields): Promise<Answer> =>
  ask({
    method: 'PUT',
    path: `/SearchParameter/${encodeURIComponent(code)}`,
    headers: { 'content-type': 'application/fhir+json' },
    body: JSON.stringify({
      resourceType: 'SearchParameter',
      id: code,
      url: `${BASE}/SearchParameter/${code}`,
      name: code,
      status: 'active',
      description: `Values of ${expression}`,
      code,
      base: base.split(/[\s,]+/).filter((each) => each !== ''),
      type,
      expression,
    }),
  })
