import './styles/tokens.css';
import './styles/base.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { language } from './words';
import { applyTheme } from './state/theme';

document.documentElement.lang = language;
applyTheme();

const page = document.getElementById('page');
if (page) mount(App, { target: page });
