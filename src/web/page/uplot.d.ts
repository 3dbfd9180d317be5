import uPlot from 'uplot';

// oxlint-disable-next-line import/no-default-export -- that is how it comes
export default uPlot;
