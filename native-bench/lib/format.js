/** @import { Cell, Metric, Spread } from '../types.js' */

/** @param {number} value @param {number} digits */
export const number = (value, digits) =>
  Number.isNaN(value) ? '-' : value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** The median, with minimum and maximum in brackets. @param {Spread} spread @param {Metric} metric */
export const spreadText = ({ median, least, most, rounds }, { digits }) =>
  rounds === 1 || Number.isNaN(median) ? number(median, digits) : `${number(median, digits)} (${number(least, digits)} to ${number(most, digits)})`

/** @param {Cell | undefined} cell @param {string} name */
export const spreadOf = (cell, name) => (cell !== undefined && 'metrics' in cell ? cell.metrics[name] : undefined)
