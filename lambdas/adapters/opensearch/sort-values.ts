/** Sort values as keywords: text and numbers in one field, numbers by value, infinities included. Keywords are compared by code point. */
import { doubleText, textDouble } from '../../ports/search/doubles.ts'

export const sortText = (value: string | number): string => (typeof value === 'number' ? `n${doubleText(value)}` : `s${value}`)

export const sortValue = (text: string): string | number => (text.startsWith('n') ? textDouble(text.slice(1)) : text.slice(1))
